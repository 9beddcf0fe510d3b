import { execFile } from 'node:child_process'
import { readdirSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect, it } from 'vitest'
import { projectFolder } from '../e2e/built-program.ts'
import { startDev } from '../e2e/running-dev.ts'
import { runCommand } from '../support/run-command.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'

const archives = join(projectFolder, 'test/compatibility')
const releases = readdirSync(archives).filter((name) => name.endsWith('.tar.gz'))

it.each(releases)(
  'settings, policies, keys, audit log and catalog of %s are as they were',
  async (release) => {
    const folder = await temporaryFolder()
    await promisify(execFile)('tar', ['-xzf', join(archives, release), '-C', folder])
    const read = async (name: string) => (await readFile(join(folder, name), 'utf8')).trim()

    const check = await runCommand(['check', '--config', join(folder, 'gateway.yaml')])
    expect(check).toMatchObject({ status: 0 })
    const policies = await runCommand(['policy', 'test', '--policies', join(folder, 'policies')])
    expect(policies).toMatchObject({ status: 0, output: expect.stringMatching(/^\d+ of \d+ tests passed/) })

    const dev = await startDev({ dataFolder: join(folder, 'data') })
    const orders = await (await dev.remoteClient()).openTable('orders')
    expect(await orders.countRows()).toBe(3)
    await orders.add([{ id: 4, note: 'fourth' }])
    expect(await orders.countRows()).toBe(4)
    const statusOf = async (key: string) =>
      (await dev.send('GET', '/v1/namespace/$/list', undefined, { 'x-api-key': await read(key) })).status
    expect([await statusOf('key-of-ann'), await statusOf('revoked-key')]).toEqual([403, 401])
    await dev.stop()

    const publicKey = join(dev.auditFolder, 'seal-public-key.pem')
    const verified = await runCommand(['audit', 'verify', dev.auditFolder, '--public-key', publicKey])
    expect(verified).toMatchObject({
      status: 0,
      output: expect.stringMatching(/^good: \d+ records in 2 chains/),
    })
    const inserts = await runCommand(['audit', 'query', dev.auditFolder, '--operation', 'InsertIntoTable'])
    expect(inserts.output.match(/ outcome .* committed /g)).toHaveLength(2)
  },
)
