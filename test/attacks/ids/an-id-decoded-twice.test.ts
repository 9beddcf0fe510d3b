import { it } from 'vitest'
import { attackedGateway } from '../support/attacked-gateway.ts'

// An id that has another meaning for a server that decodes, truncates, folds or concatenates it again.
const attacked = attackedGateway()

it.each([
  ['a slash that is encoded twice', 'sandbox$x%252Fdrop', /contains "%"/],
  ['a delimiter that is encoded twice', 'sandbox%2524x', /contains "%"/],
  ['NUL', 'sandbox$x%00', /NUL/],
  ['a line break', 'sandbox$x%0d%0ax-api-key:%20k', /contains "\\+r"/],
  ['an overlong slash', 'sandbox$x%C0%AF', /not valid UTF-8/],
  ['a quote', "sandbox$x')%20OR%20starts_with(object_id,'", /contains "'"/],
  ['an empty part', 'sandbox$$production', /a part of the id is empty: \["sandbox","","production"\]/],
])('rejects %s in an id', async (_label, id, says) => {
  await attacked.expectInvalid({ target: `/v1/table/${id}/describe` }, says)
})

it.each([
  ['another case', 'Sandbox$orders'],
  ['a plus, which is no space', 'sandbox+$orders'],
  ['another normal form', 'sa%CC%81ndbox$orders'],
])('%s makes a different id, which is denied', async (_label, id) => {
  await attacked.expectDenied({ target: `/v1/table/${id}/describe` }, 'you are not allowed DescribeTable on')
})

it('applies the same grammar to index names', async () => {
  for (const index of ['a%2Fb', '..', '%00', 'a%5Cb', '%252F', "'"]) {
    await attacked.expectInvalid(
      { target: `/v1/table/sandbox$orders/index/${index}/stats` },
      'the index name',
    )
  }
})
