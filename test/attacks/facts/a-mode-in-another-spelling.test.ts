import { expect, it } from 'vitest'
import { arrowUpload } from '../../support/arrow-upload.ts'
import { attackedGateway } from '../support/attacked-gateway.ts'

// A spelling that the gateway decides as one mode and the catalog reads as another, or as its default, would bypass the
// decision. LanceDB's client sends modes and behaviors of namespaces with quotes inside of the JSON text.
const attacked = attackedGateway()
const send = async (target: string, body: object | string) => {
  const arrival = await attacked.expectForwarded({ as: 'owner', target, body })
  return { target: arrival.target, body: String(await arrival.body) }
}

it.each([
  ['"restrict"', 'Restrict'],
  ['"Restrict"', 'Restrict'],
  ['res_trict', 'Restrict'],
  ['"cascade"', 'Cascade'],
  ['restrict', 'restrict'],
  ['CASCADE', 'CASCADE'],
])('the behavior %s is forwarded as %s', async (behavior, forwarded) => {
  const { body } = await send('/v1/namespace/sandbox$other/drop', { mode: '"Skip"', behavior })
  expect(JSON.parse(body)).toEqual({ mode: 'Skip', behavior: forwarded })
})

it.each([
  ['"exist_ok"', 'ExistOk'],
  ['"ExistOk"', 'ExistOk'],
  ['e_xistok', 'ExistOk'],
  ['exist_ok', 'exist_ok'],
  ['existok', 'existok'],
  ['Exist_Ok', 'Exist_Ok'],
])('the mode %s is forwarded as %s', async (mode, forwarded) => {
  const { body } = await send('/v1/namespace/sandbox$other/create', { mode })
  expect(JSON.parse(body)).toEqual({ mode: forwarded })
  const query = `/v1/table/sandbox$orders/create?mode=${encodeURIComponent(mode)}`
  expect((await send(query, arrowUpload)).target).toBe(`/v1/table/sandbox%24orders/create?mode=${forwarded}`)
})

it.each(['""restrict""', '"restrict', ' restrict'])('the behavior %j is none', async (behavior) => {
  await attacked.expectInvalid(
    { as: 'owner', target: '/v1/namespace/sandbox$other/drop', body: { behavior } },
    /is not a behavior of DropNamespace/,
  )
})

it('letters that are equal to others only by Unicode are not forwarded', async () => {
  const { body } = await send('/v1/namespace/sandbox$other/drop', { mode: 'S\u212aip' })
  expect(JSON.parse(body)).toEqual({ mode: 'Skip' })
})
