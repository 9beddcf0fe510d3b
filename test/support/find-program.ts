import { spawnSync } from 'node:child_process'

/** Whether a program is installed (Debian: prometheus, curl, nghttp2-client); prints a note if tests are skipped. */
export function hasProgram(program: 'curl' | 'h2load' | 'prometheus' | 'promtool'): boolean {
  const isInstalled = spawnSync(program, ['--version'], { stdio: 'ignore' }).status === 0
  if (!isInstalled) console.warn(`SKIPPED: tests that need ${program}, as it is not on this machine.`)
  return isInstalled
}
