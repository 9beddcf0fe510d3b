import { mkdir, writeFile } from 'node:fs/promises'
import { availableParallelism } from 'node:os'
import { dirname, join } from 'node:path'
import { expect, it } from 'vitest'
import { countAvailableCores } from '../../src/workers/available-cores.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'

async function systemWith(files: Readonly<Record<string, string>>): Promise<string> {
  const root = await temporaryFolder()
  for (const [path, text] of Object.entries(files)) {
    await mkdir(dirname(join(root, path)), { recursive: true })
    await writeFile(join(root, path), text)
  }
  return root
}

const group = 'sys/fs/cgroup/pods/gateway'

it.each<[string, Record<string, string>, number]>([
  ['no control groups', {}, Infinity],
  [
    'a group without a limit',
    { 'proc/self/cgroup': '0::/pods/gateway\n', [`${group}/cpu.max`]: 'max 100000\n' },
    Infinity,
  ],
  ['a limit', { 'proc/self/cgroup': '0::/pods/gateway\n', [`${group}/cpu.max`]: '100000 100000\n' }, 1],
  [
    'less than a core',
    { 'proc/self/cgroup': '0::/pods/gateway\n', [`${group}/cpu.max`]: '25000 100000\n' },
    1,
  ],
  [
    'a limit of the group above',
    {
      'proc/self/cgroup': '0::/pods/gateway\n',
      [`${group}/cpu.max`]: 'max 100000\n',
      'sys/fs/cgroup/pods/cpu.max': '190000 100000\n',
    },
    1,
  ],
  [
    'a limit at the root, as a container sees its own',
    { 'proc/self/cgroup': '0::/\n', 'sys/fs/cgroup/cpu.max': '150000 100000\n' },
    1,
  ],
  [
    'version 1',
    {
      'proc/self/cgroup': '4:memory:/x\n3:cpu,cpuacct:/pod\n0::/\n',
      'sys/fs/cgroup/cpu/pod/cpu.cfs_quota_us': '100000\n',
      'sys/fs/cgroup/cpu/pod/cpu.cfs_period_us': '100000\n',
    },
    1,
  ],
  [
    'version 1 without a limit',
    {
      'proc/self/cgroup': '3:cpu,cpuacct:/pod\n',
      'sys/fs/cgroup/cpu/pod/cpu.cfs_quota_us': '-1\n',
      'sys/fs/cgroup/cpu/pod/cpu.cfs_period_us': '100000\n',
    },
    Infinity,
  ],
])('the cores of a process with %s', async (_, files, cores) => {
  expect(await countAvailableCores(await systemWith(files))).toBe(Math.min(cores, availableParallelism()))
})

it('this process has between one core and all cores of the system', async () => {
  const cores = await countAvailableCores()
  expect(cores).toBeGreaterThanOrEqual(1)
  expect(cores).toBeLessThanOrEqual(availableParallelism())
})
