import { symlink, truncate, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { orders } from '../engine/sample-tables.ts'
import { responseOf, type Response, runningBackend } from '../support/running-backend.ts'

/** Writes files as a client with write credentials may. */
async function withFileOf(kind: 'tags' | 'branches', write: (file: string) => Promise<void>) {
  const backend = await runningBackend()
  await backend.post('/v1/namespace/n/create', {})
  const location = await backend.createTable('n$t', orders(2))
  await backend.post(`/v1/table/n$t/${kind}/create`, { name: 'good', tag: 'good', version: 1 })
  await write(join(location, '_refs', kind, 'x%2Fy.json'))
  return (path: string, body: object = {}) => backend.post(`/v1/${path}`, body)
}

const damaged = (kind: string) =>
  expect.objectContaining({
    status: 409,
    json: expect.objectContaining({ code: 19, error: expect.stringContaining(`the ${kind} "x/y"`) }),
  }) as Response

const transaction = '00000000-0000-4000-8000-000000000000'

it.each([
  ['is not JSON', (file: string) => writeFile(file, '{')],
  ['is another JSON', (file: string) => writeFile(file, '{"version":"1"}')],
  [
    'is larger than the memory of the catalog',
    async (file: string) => {
      await writeFile(file, '')
      await truncate(file, 2 ** 33)
    },
  ],
  ['is a link', (file: string) => symlink('/dev/zero', file)],
])('names a tag or branch if its file %s', async (_, write) => {
  const onTag = await withFileOf('tags', write)
  expect(await onTag('table/n$t/tags/list')).toEqual(damaged('tag'))
  expect(await onTag('table/n$t/tags/version', { tag: 'x/y' })).toEqual(damaged('tag'))
  expect(await onTag('table/n$t/version/delete', { ranges: [{ start_version: 1, end_version: 2 }] })).toEqual(
    damaged('tag'),
  )
  expect(await onTag('table/n$t/tags/version', { tag: 'good' })).toEqual(responseOf({ version: 1 }))
  const onBranch = await withFileOf('branches', write)
  expect(await onBranch('table/n$t/branches/list')).toEqual(damaged('branch'))
  expect(await onBranch('table/n$t/count_rows', { branch: 'x/y' })).toEqual(damaged('branch'))
  expect(await onBranch('table/n$t/count_rows', { branch: 'good' })).toEqual(responseOf(2))
  expect(await onBranch(`transaction/n$t$${transaction}/describe`)).toEqual(damaged('branch'))
})
