import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'

/** Core assignment of the parts of a measurement; undefined means any core. */
export interface Cores {
  readonly server: number | undefined
  /** The upstream and the load generator. */
  readonly upstream: number | undefined
  readonly load: number | undefined
}

/** Reserves one available core for the server, and others for the rest. */
export function chooseCores(): Cores {
  const [server, upstream, load = upstream] = allowedCores()
  const canPin = upstream !== undefined && spawnSync('taskset', ['--version']).status === 0
  return canPin ? { server, upstream, load } : { server: undefined, upstream: undefined, load: undefined }
}

/** Binds the command to that core. */
export function onCore(
  core: number | undefined,
  command: readonly [string, ...string[]],
): readonly [string, ...string[]] {
  return core === undefined ? command : ['taskset', '-c', String(core), ...command]
}

function allowedCores(): readonly number[] {
  const list = /^Cpus_allowed_list:\s*(\S+)$/m.exec(readFileSync('/proc/self/status', 'utf8'))?.[1] ?? '0'
  return list.split(',').flatMap((range) => {
    const [first = 0, last = first] = range.split('-').map(Number)
    return Array.from({ length: last - first + 1 }, (_, index) => first + index)
  })
}

/** Binds this process, which is a part of the load. */
export function bindThisProcess(core: number | undefined): void {
  if (core !== undefined) spawnSync('taskset', ['-acp', String(core), String(process.pid)])
}
