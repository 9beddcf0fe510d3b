/** An error that the user of a command can fix. The message states it and the next step. */
export class CommandFailure extends Error {
  override readonly name = 'CommandFailure'
}

/** Runs a step. Turns errors that the user can fix into CommandFailure, with `failure` in front of the message. */
export async function runStep<Result>(failure: string, step: () => Promise<Result>): Promise<Result> {
  try {
    return await step()
  } catch (error) {
    throw error instanceof CommandFailure
      ? error
      : new CommandFailure(`${failure}:\n${explainError(error)}`, { cause: error })
  }
}

function explainError(error: unknown): string {
  if (!(error instanceof Error)) return indent(String(error))
  const { code, path } = error as NodeJS.ErrnoException
  if (code === 'EADDRINUSE') return indent(`${error.message}; stop the other program or choose another port`)
  if (code === 'ENOENT') return indent(`${path ?? error.message} does not exist`)
  // The error of fetch only says that it failed; its cause says why.
  return indent(error.cause instanceof Error ? `${error.message}: ${error.cause.message}` : error.message)
}

function indent(text: string): string {
  return text.replaceAll(/^/gm, '  ')
}
