import { it } from 'vitest'
import { attackedGateway } from '../support/attacked-gateway.ts'

// One reader uses the first of two equal keys, another one the last: each sees another id.
const attacked = attackedGateway()

it.each([
  ['id', '{"id":["sandbox","orders"],"id":["production","orders"]}'],
  ['id', '{"\\u0069d":["sandbox","orders"],"id":["production","orders"]}'],
  ['id', '{"id":["sandbox","orders"],"i\\u0064":null}'],
  ['identity', '{"identity":null,"identity":{"api_key":"k"}}'],
  ['context', '{"context":{},"context":{"gateway":"admin"}}'],
  ['vend_credentials', '{"vend_credentials":false,"vend_credentials":true}'],
  ['a', '{"context":{"a":"a","a":"b"}}'],
  ['__proto__', '{"context":{"__proto__":"1","__proto__":"2"}}'],
])('rejects the repeated key "%s"', async (key, body) => {
  await attacked.expectInvalid({ body }, `duplicate key "${key}" in an object of the body`)
})

const names = Array.from({ length: 12 }, (_, index) => `"n${index}":"${index}"`)

it.each([8, 9, 10, 11])(
  'rejects a duplicate of the key "n%i", or after it, in an object with many keys',
  async (index) => {
    for (const body of [
      `{"context":{${[...names, `"n${index}":"0"`].join()}}}`,
      `{"context":{${[...names.slice(0, index), '"id":"a"', ...names.slice(index), '"id":"b"'].join()}}}`,
    ]) {
      const key = body.includes('"id"') ? 'id' : `n${index}`
      await attacked.expectInvalid({ body }, `duplicate key "${key}"`)
    }
  },
)

// Every name in every operation is in gateway/body/members-of-every-operation.test.ts.
it.each(['ID', 'id\0x', 'id\u200b', 'ıd', 'Vend_Credentials', 'vend_credentialſ'])(
  'rejects the key %j, which readers that ignore case or truncate at NUL take for another',
  async (key) => {
    const name = key.startsWith('vend') || key.startsWith('V') ? 'vend_credentials' : 'id'
    await attacked.expectInvalid(
      { body: { [key]: ['production', 'orders'] } },
      `is ambiguous; write "${name}"`,
    )
  },
)
