import { spawnSync } from 'node:child_process'

/** Programs of a machine, with the option by which they say their version. */
const programs = {
  curl: '--version',
  haproxy: '-v',
  java: '-version',
  jq: '--version',
  nginx: '-v',
  openssl: 'version',
  prometheus: '--version',
  promtool: '--version',
} as const

const known = new Map<string, boolean>()

/** Needs that must be met, by `REQUIRE=openssl,helm` or `REQUIRE=all`: CI names those that it has provided. */
const required = (process.env['REQUIRE'] ?? '').split(',')

/**
 * Returns whether this machine has what tests need. If not, the tests are skipped, and the end of the run says so. Throws
 * if it is required.
 */
export function isProvided(requirement: string, isThere: () => boolean): boolean {
  const found = known.get(requirement) ?? isThere()
  if (!found && (required.includes(requirement) || required.includes('all')))
    throw new Error(`${requirement} is not there, but required by REQUIRE`)
  if (!found && !known.has(requirement)) console.warn(`SKIPPED: tests that need ${requirement}`)
  known.set(requirement, found)
  return found
}

export function hasProgram(program: keyof typeof programs): boolean {
  return isProvided(program, () => spawnSync(program, [programs[program]], { stdio: 'ignore' }).status === 0)
}
