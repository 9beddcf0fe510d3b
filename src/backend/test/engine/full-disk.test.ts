import { execFile, execFileSync } from 'node:child_process'
import { mkdir } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { expect, it } from 'vitest'
import { isProvided } from '../../../../test/support/requirements.ts'
import { temporaryFolder } from '../../../../test/support/temporary-folder.ts'

const program = fileURLToPath(new URL('full-disk-process.ts', import.meta.url))
const withSmallDisk = 'mount -t tmpfs -o size=16m tmpfs "$0" && exec "$@"'
const mayMount = isProvided('private mounts', canMount)

/** Linux allows private mounts unless an administrator forbids them. */
function canMount(): boolean {
  try {
    const parameters = ['--map-root-user', '--mount', 'mount', '-t', 'tmpfs', 'tmpfs', tmpdir()]
    execFileSync('unshare', parameters, { stdio: 'ignore' })
    return true
  } catch {
    return false
  }
}

it.skipIf(!mayMount)('rejects changes on a full disk without damage, and recovers', async () => {
  const disk = join(await temporaryFolder(), 'disk')
  await mkdir(disk)
  const parameters = ['--map-root-user', '--mount', 'bash', '-c', withSmallDisk, disk]
  const script = [process.execPath, '--import', 'tsx', program, disk]
  const { stdout } = await promisify(execFile)('unshare', [...parameters, ...script])

  const changes = ['upload', 'merge', 'update', 'new table', 'index', 'namespace', 'commit']
  const all = (response: unknown) => Object.fromEntries(changes.map((change) => [change, response]))
  const before = {
    tables: ['committed', 'there'],
    namespaces: [],
    rows: [3, 3],
    folders: 2,
    isReadable: true,
  }
  const after = {
    tables: ['committed', 'new', 'there'],
    namespaces: ['room'],
    rows: [20_003, 4],
    folders: 3,
    isReadable: true,
  }
  expect(JSON.parse(stdout)).toEqual({
    full: all('503 the storage of the catalog is full'),
    meanwhile: before,
    room: all(200),
    afterwards: after,
    restarted: after,
  })
})
