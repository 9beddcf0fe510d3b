import { spawnSync } from 'node:child_process'

const programs = ['valkey-server', 'redis-server']

/** The program of a server that speaks the protocol of Redis; undefined without any. */
export function findRedis(): string | undefined {
  return programs.find((program) => spawnSync(program, ['--version'], { stdio: 'ignore' }).status === 0)
}
