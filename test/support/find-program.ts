import { spawnSync } from 'node:child_process'

type OptionalProgram = 'curl' | 'haproxy' | 'jq' | 'nginx' | 'prometheus' | 'promtool'

/** Whether a program is installed (Debian: curl, haproxy and so on); prints a note if tests are skipped. */
export function hasProgram(program: OptionalProgram): boolean {
  const option = program === 'haproxy' || program === 'nginx' ? '-v' : '--version'
  const isInstalled = spawnSync(program, [option], { stdio: 'ignore' }).status === 0
  if (!isInstalled) console.warn(`SKIPPED: tests that need ${program}, as it is not on this machine.`)
  return isInstalled
}
