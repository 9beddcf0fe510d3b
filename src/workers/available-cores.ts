import { readFile } from 'node:fs/promises'
import { availableParallelism } from 'node:os'
import { dirname, join } from 'node:path'

/**
 * CPU affinity, or less if a control group (cgroups(7)) limits CPU time. Rounded down, at least one. `root` is the file
 * system root.
 */
export async function countAvailableCores(root = '/'): Promise<number> {
  const groups = await readText(join(root, 'proc/self/cgroup'))
  const capacities = await Promise.all([
    ...readCgroupV2Limits(groups, root),
    ...readCgroupV1Limits(groups, root),
  ])
  return Math.max(1, Math.floor(Math.min(availableParallelism(), ...capacities)))
}

/** Version 2: `cpu.max` of the group and its ancestors holds a quota, or `max`, and a period. */
function readCgroupV2Limits(groups: string, root: string): Promise<number>[] {
  const path = /^0::(.*)$/m.exec(groups)?.[1]
  return listAncestors(path).map(async (folder) => {
    const [quota, period] = (await readText(join(root, 'sys/fs/cgroup', folder, 'cpu.max'))).split(/\s/)
    return parseCores(quota, period)
  })
}

/** Version 1: a quota of -1 means unlimited. */
function readCgroupV1Limits(groups: string, root: string): Promise<number>[] {
  const path = /^\d+:(?:\w+,)*cpu(?:,\w+)*:(.*)$/m.exec(groups)?.[1]
  return listAncestors(path).map(async (folder) => {
    const group = join(root, 'sys/fs/cgroup/cpu', folder)
    const [quota, period] = await Promise.all(
      ['cpu.cfs_quota_us', 'cpu.cfs_period_us'].map((file) => readText(join(group, file))),
    )
    return parseCores(quota, period)
  })
}

function listAncestors(path: string | undefined): string[] {
  if (path === undefined) return []
  const folders = [path]
  for (let folder = path; folder !== dirname(folder);) folders.push((folder = dirname(folder)))
  return folders
}

function parseCores(quota: string | undefined, period: string | undefined): number {
  const cores = Number(quota) / Number(period)
  return cores > 0 ? cores : Infinity
}

function readText(file: string): Promise<string> {
  return readFile(file, 'utf8').catch(() => '')
}
