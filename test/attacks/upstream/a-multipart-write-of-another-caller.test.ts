import { expect, it } from 'vitest'
import { respondWith } from '../../gateway/support/recording-upstream.ts'
import { arrowUpload } from '../../support/arrow-upload.ts'
import { attackedGateway } from '../support/attacked-gateway.ts'
import { policyOf, ruleFor } from '../support/policy-templates.ts'

// A caller that names a multipart write could add rows to the insert of another caller, overwrite with it, complete it
// too early, or discard it. Its id, sealed by the gateway, is bound to the caller, table and branch.
const attacked = attackedGateway({
  users: ['ann', 'bob', 'appender', 'clerk'],
  policies: [
    policyOf(
      ['team'],
      [
        ruleFor(['ann', 'bob']),
        ruleFor(['appender'], ['read', 'write', 'admin'], { when: 'branch != "release"' }),
        ruleFor(['clerk']),
        ruleFor(['clerk'], ['InsertIntoTable'], { effect: 'deny' }),
      ],
    ),
  ],
})
const table = '/v1/table/team$t'

async function begin(as: string, query = ''): Promise<string> {
  attacked.upstream.handler = respondWith(200, { upload_id: 'upload-1' })
  const { json } = await attacked.gateway.post(`${table}/multipart_write/create${query}`, { as })
  attacked.upstream.requests.length = 0
  attacked.upstream.handler = respondWith(200, {})
  return (json as { upload_id: string }).upload_id
}

interface Step {
  readonly path: string
  readonly query: string
  readonly body?: Buffer
}
const steps: readonly Step[] = [
  { path: 'insert', query: 'upload_part_id=p&', body: arrowUpload },
  { path: 'insert', query: 'mode=overwrite&', body: arrowUpload },
  { path: 'multipart_write/complete', query: '' },
  { path: 'multipart_write/abort', query: '' },
]
const attack = ({ path, query, body }: Step, id: string, on = table) => ({
  target: `${on}/${path}?${query}upload_id=${encodeURIComponent(id)}`,
  ...(body && { body }),
})
const refusal = { kind: 'InvalidInput', says: 'names no multipart write that you began' } as const

it.each(steps)('$path?$query and the id of another caller', async (step) => {
  const id = await begin('ann')
  await attacked.expectRefused({ as: 'bob', ...attack(step, id) }, refusal)
  await attacked.expectForwarded({ as: 'ann', ...attack(step, id) })
})

it.each(steps)('$path?$query and the id of the upstream, or a modified one', async (step) => {
  const id = await begin('ann')
  const modified = [
    id.slice(0, -4),
    `${id}AAAA`,
    id.replace(/^\/.{8}/, '/AAAAAAAA'),
    '/',
    '/AAAA',
    'upload-1',
  ]
  for (const one of modified) await attacked.expectRefused({ as: 'ann', ...attack(step, one) }, refusal)
})

it.each(steps)('$path?$query for another table or branch', async (step) => {
  const id = await begin('ann', '?branch=ci')
  await attacked.expectRefused({ as: 'ann', ...attack(step, id) }, refusal)
  await attacked.expectRefused({ as: 'ann', ...attack(step, `${id}&branch=main`) }, refusal)
  const onBranch = (branch: string): Step => ({ ...step, query: `${step.query}branch=${branch}&` })
  await attacked.expectRefused({ as: 'ann', ...attack(onBranch('dev'), id) }, refusal)
  await attacked.expectRefused({ as: 'ann', ...attack(onBranch('ci'), id, '/v1/table/team$u') }, refusal)
  await attacked.expectForwarded({ as: 'ann', ...attack(onBranch('ci'), id) })
  if (step.body !== undefined) return
  const inBody = { as: 'ann', ...attack(step, id) }
  await attacked.expectRefused({ ...inBody, body: { branch: 'dev' } }, refusal)
  await attacked.expectForwarded({ ...inBody, body: { branch: 'ci' } })
})

it('the id of a job is none of a multipart write, and the other way round', async () => {
  attacked.upstream.handler = respondWith(200, { job_id: 'upload-1' })
  const body = { column: 'c' }
  const { json } = await attacked.gateway.post(`${table}/backfill_column`, { as: 'ann', body })
  attacked.upstream.requests.length = 0
  const { job_id: job } = json as { job_id: string }
  for (const step of steps) await attacked.expectRefused({ as: 'ann', ...attack(step, job) }, refusal)
  const upload = await begin('ann')
  await attacked.expectDenied(
    { as: 'ann', target: '/v1/jobs/cancel', body: { job_id: upload } },
    'on the root',
  )
})

it('a part overwrites only with the permission to overwrite, and no other step accepts a mode', async () => {
  const id = await begin('appender')
  await attacked.expectDenied(
    { as: 'appender', ...attack({ path: 'insert', query: 'mode=overwrite&', body: arrowUpload }, id) },
    /not allowed OverwriteTable \(mode=overwrite\)/,
  )
  for (const path of ['multipart_write/complete', 'multipart_write/abort'])
    await attacked.expectInvalid(
      { as: 'appender', ...attack({ path, query: 'mode=overwrite&' }, id) },
      '"mode"',
    )
  await attacked.expectInvalid(
    { as: 'appender', target: `${table}/multipart_write/create?mode=overwrite` },
    '"mode"',
  )
  for (const path of ['create', `complete?upload_id=${encodeURIComponent(id)}`]) {
    const target = `${table}/multipart_write/${path}`
    for (const body of [{ mode: 'overwrite' }, { overwrite: true }, { upload_id: 'upload-2' }])
      await attacked.expectInvalid({ as: 'appender', target, body }, /"(mode|overwrite|upload_id)"/)
    await attacked.expectDenied({ as: 'appender', target, body: { branch: 'release' } }, 'not allowed')
  }
  await attacked.expectForwarded({
    as: 'appender',
    ...attack({ path: 'insert', query: 'mode=append&', body: arrowUpload }, id),
  })
})

it('every step needs the permission to insert, on the branch that it states', async () => {
  const id = await begin('ann')
  const create = { target: `${table}/multipart_write/create` }
  const denied = { kind: 'PermissionDenied', says: 'not allowed InsertIntoTable' } as const
  for (const one of [create, ...steps.map((step) => attack(step, id))])
    await attacked.expectRefused({ as: 'clerk', ...one }, denied)
  const onRelease = steps.map((step) => attack({ ...step, query: `${step.query}branch=release&` }, id))
  for (const one of [{ target: `${create.target}?branch=release` }, ...onRelease])
    await attacked.expectDenied({ as: 'appender', ...one }, 'not allowed')
})

it('an upload that names a part of no write is no insert', async () => {
  await attacked.expectInvalid(
    { as: 'ann', target: `${table}/insert?upload_part_id=p`, body: arrowUpload },
    'only together with "upload_id"',
  )
  for (const query of ['upload_id=', 'upload_id=a&upload_id=b', 'Upload_Id=a', 'uploadId=a'])
    await attacked.expectInvalid(
      { as: 'ann', target: `${table}/insert?${query}`, body: arrowUpload },
      /upload/i,
    )
})

it('the id of the upstream stays in the gateway', async () => {
  expect(await begin('ann')).not.toContain('upload-1')
})
