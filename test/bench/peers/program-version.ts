import { spawnSync } from 'node:child_process'

/** The first match of a pattern in what a program prints of its version. Throws where there is no such program. */
export function programVersion(program: string, parameter: string, pattern: RegExp): string {
  // Some end with a status of failure when they have said their version.
  const { error, stdout, stderr } = spawnSync(program, [parameter], { encoding: 'utf8' })
  if (error !== undefined) throw new Error(`there is no ${program} on this machine`, { cause: error })
  return pattern.exec(stdout + stderr)?.[1] ?? 'of an unknown version'
}
