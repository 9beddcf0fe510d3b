import { spawnSync } from 'node:child_process'
import type { Program } from '../peer.ts'

/** Finds an installed program; its version is the first match in its output. Throws if it is missing. */
export function findProgram(name: string, parameter: string, pattern: RegExp): Program {
  // Some programs exit with a failure status after printing their version.
  const { error, stdout, stderr } = spawnSync(name, [parameter], { encoding: 'utf8' })
  if (error !== undefined)
    throw new Error(`there is no ${name} on this machine: apt-get install ${name}`, { cause: error })
  return { file: name, version: pattern.exec(stdout + stderr)?.[1] ?? 'of an unknown version' }
}
