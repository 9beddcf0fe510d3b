import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { rows } from '../../conformance/sample-rows.ts'
import type { TestedGateway } from '../support/open-gateway.ts'
import { respondWith, type RecordingUpstream } from '../support/recording-upstream.ts'
import { startGatewayBefore, startUpstream } from '../support/running-gateway.ts'

// Begin, parts, completion: only the completion is a commit, and no gateway keeps anything between them.
const table = '/v1/table/sales$orders'

async function startTarget(): Promise<RecordingUpstream> {
  const upstream = await startUpstream()
  upstream.handler = (arrival, ...rest) => {
    const { pathname } = new URL(arrival.target, upstream.url)
    const json = pathname.endsWith('/create')
      ? { upload_id: 'upload-1' }
      : pathname.endsWith('/complete')
        ? { version: 7 }
        : {}
    return respondWith(200, json)(arrival, ...rest)
  }
  return upstream
}

function startReplica(upstream: RecordingUpstream): Promise<TestedGateway> {
  return startGatewayBefore(upstream.url, {
    async adjust(settings, folder) {
      const tokenKeyFile = join(folder, 'shared-key')
      await writeFile(tokenKeyFile, 'k'.repeat(32))
      return { ...settings, listing: { ...settings.listing, tokenKeyFile } }
    },
  })
}

async function begin(gateway: TestedGateway, query = ''): Promise<string> {
  const created = await gateway.post(`${table}/multipart_write/create${query}`)
  expect(created.status).toBe(200)
  return encodeURIComponent((created.json as { upload_id: string }).upload_id)
}

it('every step may go through another replica, and the upstream gets its own id', async () => {
  const upstream = await startTarget()
  const [first, second, third] = await Promise.all([1, 2, 3].map(() => startReplica(upstream)))
  if (first === undefined || second === undefined || third === undefined) throw new Error('not started')
  const id = await begin(first, '?branch=ci')
  expect(id).not.toContain('upload-1')
  const part = `${table}/insert?mode=overwrite&branch=ci&upload_id=${id}&upload_part_id=p1`
  expect(await second.post(part, { body: Buffer.from(rows(2)) })).toMatchObject({ status: 200 })
  const end = `?upload_id=${id}&branch=ci`
  expect(await third.post(`${table}/multipart_write/complete${end}`)).toMatchObject({
    status: 200,
    json: { version: 7 },
  })
  expect(await first.post(`${table}/multipart_write/abort${end}`)).toMatchObject({ status: 200 })
  const own = '/v1/table/sales%24orders'
  expect(upstream.requests.map(({ target }) => target)).toEqual([
    `${own}/multipart_write/create?branch=ci`,
    `${own}/insert?mode=overwrite&branch=ci&upload_id=upload-1&upload_part_id=p1`,
    `${own}/multipart_write/complete?upload_id=upload-1&branch=ci`,
    `${own}/multipart_write/abort?upload_id=upload-1&branch=ci`,
  ])
})

it('the records have one id, by which the rows and bytes of the parts add up; only the completion is a commit', async () => {
  const upstream = await startTarget()
  const gateway = await startReplica(upstream)
  const id = await begin(gateway)
  const bodies = [rows(2), rows(3, 2)].map((part) => Buffer.from(part))
  for (const [index, body] of bodies.entries())
    await gateway.post(`${table}/insert?upload_id=${id}&upload_part_id=p${index}`, { body })
  await gateway.post(`${table}/multipart_write/complete?upload_id=${id}`)
  const own = { upload_id: 'upload-1' }
  expect(await gateway.recorded('intent')).toMatchObject([
    { operation: 'CreateMultipartWrite', effect: 'change', objects: [{ operation: 'InsertIntoTable' }] },
    { operation: 'InsertIntoTable', effect: 'change', details: { ...own, upload_part_id: 'p0' } },
    { operation: 'InsertIntoTable', effect: 'change', details: { ...own, upload_part_id: 'p1' } },
    { operation: 'CompleteMultipartWrite', effect: 'commit', details: own },
  ])
  const outcomes = await gateway.recorded('outcome')
  expect(outcomes).toMatchObject([
    { result: 'committed', details: own },
    { result: 'committed', upload: { rows: 2, bytes: bodies[0]?.length } },
    { result: 'committed', upload: { rows: 3, bytes: bodies[1]?.length } },
    { result: 'committed', version: 7 },
  ])
  for (const part of outcomes.slice(0, 3)) expect(part).not.toHaveProperty('version')
  // A part without a version is complete: the gateway does not ask for one.
  expect(upstream.requests).toHaveLength(4)
})

it('a part without an id of its own is a part', async () => {
  const upstream = await startTarget()
  const gateway = await startReplica(upstream)
  const id = await begin(gateway)
  const response = await gateway.post(`${table}/insert?upload_id=${id}`, { body: Buffer.from(rows(1)) })
  expect(response).toMatchObject({ status: 200 })
  expect((await gateway.recorded('intent')).at(-1)).toMatchObject({ effect: 'change' })
})
