import { ApiKeyStoreError } from '../../identity/api-keys/key-store-file.ts'
import { PolicyError } from '../../policy/language/policy-error.ts'
import { SettingsError } from '../../config/loading/read-settings.ts'

/** A command found something wrong that its user can mend; the message says what, and what to do next. */
export class CommandFailure extends Error {
  override readonly name = 'CommandFailure'
}

/** Runs a step whose mistakes are the user's to mend, and says in front of them what was being done. */
export async function runStep<Result>(what: string, step: () => Promise<Result>): Promise<Result> {
  try {
    return await step()
  } catch (error) {
    throw error instanceof CommandFailure
      ? error
      : new CommandFailure(`${what}:\n${explainError(error)}`, { cause: error })
  }
}

function explainError(error: unknown): string {
  if (error instanceof SettingsError || error instanceof PolicyError || error instanceof ApiKeyStoreError) {
    return indent(error.message)
  }
  if (!(error instanceof Error)) return indent(String(error))
  const { code, path } = error as NodeJS.ErrnoException
  if (code === 'EADDRINUSE') return indent(`${error.message}; stop the other program or choose another port`)
  if (code === 'ENOENT') return indent(`${path ?? error.message} does not exist`)
  // What fetch says is only that it failed; the reason is beneath.
  return indent(error.cause instanceof Error ? `${error.message}: ${error.cause.message}` : error.message)
}

function indent(text: string): string {
  return text.replaceAll(/^/gm, '  ')
}
