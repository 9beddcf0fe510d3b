import { execFile, execFileSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'

/** Where `npm run helm` puts what it gets. */
export const helmCache = fileURLToPath(
  new URL('../../node_modules/.cache/catalog-gateway-helm', import.meta.url),
)

/** The major versions of helm that the chart is tested with. */
const helmMajors = ['3', '4'] as const

const onPath = findOnPath()

/** The helms of this machine, each of another major version, the newest last. */
export const helms: readonly string[] = helmMajors.flatMap((major) => {
  const cached = join(helmCache, `helm-${major}`)
  if (onPath?.major === major) return [onPath.program]
  return existsSync(cached) ? [cached] : []
})

/** Runs the newest helm, or the one that is given. Rejects with what it printed when it fails. */
export async function helm(words: readonly string[], program = helms.at(-1)): Promise<string> {
  if (program === undefined) throw new Error('there is no helm on this machine')
  const options = { maxBuffer: 64 * 1024 * 1024 }
  return (await promisify(execFile)(program, words, options)).stdout
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
