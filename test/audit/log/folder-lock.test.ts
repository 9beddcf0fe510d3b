import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFile, readdir, utimes, writeFile } from 'node:fs/promises'
import { hostname } from 'node:os'
import { join } from 'node:path'
import { expect, it, onTestFinished, vi } from 'vitest'
import { openAuditLog } from '../../../src/audit/log/audit-log.ts'
import { anIntent, logOptions, openLog, segmentsOf } from '../audit-fixtures.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'

async function deadProcess(): Promise<number> {
  const child = spawn(process.execPath, ['-e', ''])
  await once(child, 'exit')
  return child.pid ?? 0
}

async function writeLock(folder: string, holder: object, ageSeconds = 0): Promise<void> {
  const path = join(folder, 'writer.lock')
  await writeFile(path, JSON.stringify(holder))
  const time = Date.now() / 1_000 - ageSeconds
  await utimes(path, time, time)
}

it('rejects a second writer while the first is alive', async () => {
  const folder = await temporaryFolder()
  const first = await openAuditLog(logOptions(folder))
  await expect(openAuditLog(logOptions(folder))).rejects.toThrow(`in use by process ${process.pid}`)
  await first.close()
  expect(await segmentsOf(folder)).toHaveLength(1)
  const second = await openAuditLog(logOptions(folder))
  await second.close()
  expect((await readdir(folder)).filter((file) => file.includes('lock'))).toEqual([])
})

it('takes over the lock of a dead process', async () => {
  const folder = await temporaryFolder()
  await writeLock(folder, { pid: await deadProcess(), host: hostname(), began: '1' })
  await (await openAuditLog(logOptions(folder))).close()
})

it.skipIf(process.platform !== 'linux')(
  'ignores a lock if another process has reused its process id',
  async () => {
    const folder = await temporaryFolder()
    await writeLock(folder, { pid: process.pid, host: hostname(), began: '1' })
    await (await openAuditLog(logOptions(folder))).close()
  },
)

it('respects the lock of another host while it is refreshed', async () => {
  const folder = await temporaryFolder()
  const holder = { pid: process.pid, host: 'another-host', began: null }
  await writeLock(folder, holder)
  await expect(openAuditLog(logOptions(folder))).rejects.toThrow(
    'on host another-host; if it was copied with its folder, remove it',
  )
  await writeLock(folder, holder, 120)
  await (await openAuditLog(logOptions(folder))).close()
})

it('writes nothing after it was suspended for so long that another process may have the lock', async () => {
  const { folder, log } = await openLog()
  onTestFinished(() => void vi.useRealTimers())
  vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + 61_000 })
  await expect(log.recordIntent(anIntent('late'))).rejects.toThrow('the audit log is unavailable')
  expect(log.status().writable).toBe(false)
  vi.useRealTimers()
  await log.recordIntent(anIntent('held'))
  await log.close()
  const [file = ''] = await segmentsOf(folder)
  expect(await readFile(join(folder, file), 'utf8')).not.toContain('"late"')
})

it('exactly one of several writers takes over an abandoned lock', async () => {
  const folder = await temporaryFolder()
  for (let round = 0; round < 8; round += 1) {
    await writeLock(folder, { pid: 1, host: 'another-host', began: null }, 120)
    const opened = await Promise.allSettled(Array.from({ length: 8 }, () => openAuditLog(logOptions(folder))))
    const logs = opened.flatMap((result) => (result.status === 'fulfilled' ? [result.value] : []))
    expect(logs).toHaveLength(1)
    expect(await readFile(join(folder, 'writer.lock'), 'utf8')).toContain(`"pid":${process.pid}`)
    await Promise.all(logs.map((log) => log.close()))
  }
})
