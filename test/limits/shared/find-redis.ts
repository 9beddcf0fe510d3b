import { spawnSync } from 'node:child_process'

const programs = ['valkey-server', 'redis-server']

/** Finds a server that supports the Redis protocol; undefined if none is installed. */
export function findRedis(): string | undefined {
  return programs.find((program) => spawnSync(program, ['--version'], { stdio: 'ignore' }).status === 0)
}
