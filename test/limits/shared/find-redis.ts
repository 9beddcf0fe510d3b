import { spawnSync } from 'node:child_process'

const programs = ['valkey-server', 'redis-server']

export function findRedis(): string | undefined {
  return programs.find((program) => spawnSync(program, ['--version'], { stdio: 'ignore' }).status === 0)
}
