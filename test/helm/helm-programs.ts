import { execFile, execFileSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'

export const helmCache = join(homedir(), '.cache', 'catalog-gateway', 'helm')

const helmMajors = ['3', '4'] as const

const onPath = findOnPath()

/** Installed helm programs, one per major version, the newest last. */
export const helms: readonly string[] = helmMajors.flatMap((major) => {
  const cached = join(helmCache, `helm-${major}`)
  if (onPath?.major === major) return [onPath.program]
  return existsSync(cached) ? [cached] : []
})

/** The downloaded kubectl, or the one on PATH. */
export const kubectl: string | undefined = findKubectl()

/** Runs the given helm, by default the newest. Rejects with its output on failure. */
export async function helm(words: readonly string[], program = helms.at(-1)): Promise<string> {
  if (program === undefined) throw new Error('there is no helm on this machine')
  const options = { maxBuffer: 64 * 1024 * 1024 }
  return (await promisify(execFile)(program, words, options)).stdout
}

function findKubectl(): string | undefined {
  const cached = join(helmCache, 'kubectl')
  if (existsSync(cached)) return cached
  try {
    execFileSync('kubectl', ['version', '--client'], { stdio: 'ignore' })
    return 'kubectl'
  } catch {
    return undefined
  }
}

function findOnPath(): { readonly program: string; readonly major: string } | undefined {
  try {
    const version = execFileSync('helm', ['version', '--short'], {
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'ignore'],
    })
    const major = /^v(\d+)\./.exec(version)?.[1]
    return major === undefined ? undefined : { program: 'helm', major }
  } catch {
    return undefined
  }
}
