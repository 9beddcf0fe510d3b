import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { text } from 'node:stream/consumers'
import { getMembers } from '../../lib/json/is-object.ts'
import { CommandFailure } from '../common/command-failure.ts'

/** Which kubectl reads from which cluster. */
export interface Kubectl {
  readonly program: string
  /** Context of the kubeconfig; undefined for the current one. */
  readonly context: string | undefined
}

/**
 * Runs `kubectl get` and returns the objects that it finds. kubectl reads its kubeconfig, asks for credentials on the
 * terminal and prints its own errors there. Throws CommandFailure if it cannot run or fails.
 */
export async function getObjects(
  { program, context }: Kubectl,
  query: readonly string[],
): Promise<readonly unknown[]> {
  const parameters = [
    'get',
    ...query,
    ...(context === undefined ? [] : ['--context', context]),
    '--output',
    'json',
  ]
  const kubectl = spawn(program, parameters, { stdio: ['inherit', 'pipe', 'inherit'] })
  const ended = once(kubectl, 'close').catch((error: unknown) => {
    throw new CommandFailure(describeStartFailure(program, error), { cause: error })
  })
  const [output, [status]] = await Promise.all([text(kubectl.stdout), ended])
  if (status !== 0) {
    throw new CommandFailure(
      `kubectl cannot read ${query[0] ?? 'resources'} (status ${String(status)}); its message is above`,
    )
  }
  return readObjects(output)
}

function describeStartFailure(program: string, error: unknown): string {
  const { code } = getMembers(error)
  return code === 'ENOENT'
    ? `${program} was not found; install kubectl, or give its path with --kubectl`
    : `${program} cannot be run (${String(code)}); give the path of kubectl with --kubectl`
}

/** kubectl prints a list, a single object if one was asked for by name, or nothing with `--ignore-not-found`. */
function readObjects(output: string): readonly unknown[] {
  if (output.trim() === '') return []
  const found = parseJson(output)
  const { items, kind } = getMembers(found)
  if (Array.isArray(items)) return items
  if (typeof kind === 'string') return [found]
  throw new CommandFailure('kubectl printed something else than a list of resources; is --kubectl its path?')
}

function parseJson(output: string): unknown {
  try {
    return JSON.parse(output)
  } catch {
    return undefined
  }
}
