import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { backendSettings } from '../support/backend-settings.ts'
import { runningBackend } from '../support/running-backend.ts'
import { temporaryFolder } from '../../../../test/support/temporary-folder.ts'

it('rejects invalid settings', () => {
  const url = 'postgresql://user:secret@host/database'
  const wrong = [
    {},
    { url, urlFile: 'f' },
    { url: 'mysql://host' },
    { url, schema: 'a"b' },
    { url, maxConnections: 1 },
  ]
  for (const postgres of wrong)
    expect(() => backendSettings('f', { store: { postgres } })).toThrow(/postgres/)
})

it('refuses several hosts with what can be used instead', async () => {
  const url = 'postgresql://user:a,b@one:5432,two/database?target_session_attrs=read-write'
  const expected = 'an address that follows the primary'
  expect(() => backendSettings('f', { store: { postgres: { url } } })).toThrow(expected)
  const urlFile = join(await temporaryFolder(), 'url')
  await writeFile(urlFile, 'postgresql:///database?host=one,two')
  await expect(runningBackend({ store: { postgres: { urlFile } } })).rejects.toThrow(expected)
  const one = 'postgresql://user:a,b@one/database?options=-c%20a=b,c'
  expect(backendSettings('f', { store: { postgres: { url: one } } })).toMatchObject({
    store: { postgres: {} },
  })
})

it('reports an unreachable server without its password', async () => {
  const url = 'postgresql://user:secret@127.0.0.1:1/database'
  const failure: unknown = await runningBackend({ store: { postgres: { url } } }).catch(
    (error: unknown) => error,
  )
  expect(failure).toMatchObject({
    message: expect.stringContaining('PostgreSQL'),
    cause: { code: 'ECONNREFUSED' },
  })
  expect(JSON.stringify(failure, Object.getOwnPropertyNames(failure))).not.toContain('secret')
})
