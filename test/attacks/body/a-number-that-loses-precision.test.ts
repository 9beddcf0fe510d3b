import { expect, it } from 'vitest'
import { attackedGateway } from '../support/attacked-gateway.ts'

// JavaScript parses 9007199254740993 as 9007199254740992, and 1e400 as Infinity, which JSON.stringify writes as null:
// the catalog created another version than the recorded one.
const attacked = attackedGateway()

async function lastDetails(target: string, body: string): Promise<unknown> {
  const { body: sent } = await attacked.expectForwarded({ as: 'owner', target, body })
  expect(String(await sent)).toBe(body)
  const intent = (await attacked.gateway.recorded('intent')).at(-1)
  return intent?.objects?.[0]?.details ?? intent?.details
}

const table = '/v1/table/sandbox$orders'
const manifest = '"manifest_path":"orders/_versions/staged"'

it.each<[sent: string, recorded: string | number]>([
  ['7', 7],
  ['9007199254740991', 9_007_199_254_740_991],
  ['9007199254740993', '9007199254740993'],
  ['-9223372036854775808', '-9223372036854775808'],
  ['1e400', '1e400'],
  ['-1E+400', '-1E+400'],
  ['1e-400', '1e-400'],
  ['0.1000000000000000055', '0.1000000000000000055'],
  ['123456789012345678901234567890', '123456789012345678901234567890'],
  ['1.5', 1.5],
])('records the version %s exactly as sent', async (sent, recorded) => {
  expect(
    await lastDetails(`${table}/version/create`, `{"version":${sent},"manifest_size":${sent},${manifest}}`),
  ).toEqual({ version: recorded, manifest_size: recorded, manifest_path: 'orders/_versions/staged' })
  expect(await lastDetails(`${table}/restore`, `{"version":${sent}}`)).toMatchObject({ version: recorded })
  expect(await lastDetails(`${table}/branches/create`, `{"name":"ci","from_version":${sent}}`)).toMatchObject(
    { from_version: recorded },
  )
  const entry = `{"id":["sandbox","orders"],"e_tag":"\\"1e400\\\\","version":${sent},${manifest}}`
  expect(await lastDetails('/v1/table/version/batch-create', `{"entries":[${entry}]}`)).toMatchObject({
    version: recorded,
    e_tag: '"1e400\\',
  })
})

it('records ranges of versions exactly as sent', async () => {
  const ranges = '[{"start_version":0,"end_version":9223372036854775807}]'
  expect(await lastDetails(`${table}/version/delete`, `{"ranges":${ranges}}`)).toEqual({
    ranges: [{ start_version: 0, end_version: '9223372036854775807' }],
  })
})

it('rejects a number as a text fact, whatever its size', async () => {
  for (const sent of ['1e400', '9007199254740993']) {
    const entry = `{"id":["sandbox","orders"],"version":1,"branch":${sent},${manifest}}`
    await attacked.expectInvalid(
      { as: 'owner', target: '/v1/table/version/batch-create', body: `{"entries":[${entry}]}` },
      /"entries.branch" .* is a number; expected a string/,
    )
    await attacked.expectInvalid(
      { as: 'owner', target: `${table}/restore`, body: `{"version":1,"branch":${sent}}` },
      /"branch" .* expected a string/,
    )
  }
})

it('does not record an unrepresentable size of a response as another number', async () => {
  attacked.upstream.handler = (_arrival, response) => {
    response.writeHead(200, { 'content-type': 'application/json' })
    response.end('{"version":{"version":2,"manifest_size":9007199254740993}}')
  }
  await attacked.expectForwarded({
    as: 'owner',
    target: `${table}/version/create`,
    body: `{"version":2,${manifest}}`,
  })
  const outcome = (await attacked.gateway.recorded('outcome')).at(-1)
  expect(outcome?.versions).toEqual([{ id: ['sandbox', 'orders'], version: 2 }])
})
