import { spawnSync } from 'node:child_process'

/** Returns the first match in the version output of a program. Throws if the program is missing. */
export function programVersion(program: string, parameter: string, pattern: RegExp): string {
  // Some programs exit with a failure status after printing their version.
  const { error, stdout, stderr } = spawnSync(program, [parameter], { encoding: 'utf8' })
  if (error !== undefined) throw new Error(`there is no ${program} on this machine`, { cause: error })
  return pattern.exec(stdout + stderr)?.[1] ?? 'of an unknown version'
}
