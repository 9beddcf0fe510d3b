import { it } from 'vitest'
import { attackedGateway } from '../support/attacked-gateway.ts'

// An id that has another meaning for a server that decodes, truncates, folds or concatenates it again.
const attacked = attackedGateway()

it.each([
  ['a slash', 'sandbox$x%2Fproduction', /contains "\/", which is not allowed in a name/],
  ['a slash that is encoded twice', 'sandbox$x%252Fdrop', /contains "%"/],
  ['a delimiter that is encoded twice', 'sandbox%2524x', /contains "%"/],
  ['a question mark', 'sandbox$x%3Fmode=overwrite', /contains "\?"/],
  ['a fragment', 'sandbox$x%23', /contains "#"/],
  ['NUL', 'sandbox$x%00', /NUL/],
  ['a line break', 'sandbox$x%0d%0ax-api-key:%20k', /contains "\\+r"/],
  ['a control character of the second block', 'sandbox$x%C2%85', /which is not allowed in a name/],
  ['an overlong slash', 'sandbox$x%C0%AF', /not valid UTF-8/],
  ['a quote', "sandbox$x')%20OR%20starts_with(object_id,'", /contains "'"/],
  ['a backtick', 'sandbox$x%60', /which is not allowed in a name/],
  ['a double quote', 'sandbox$x%22', /which is not allowed in a name/],
  ['an empty part', 'sandbox$$production', /a part of the id is empty: \["sandbox","","production"\]/],
  ['nothing', '', /empty/],
])('rejects %s in an id', async (_label, id, says) => {
  await attacked.expectRefused({ target: `/v1/table/${id}/describe` }, { kind: 'InvalidInput', says })
})

it.each([
  ['a fullwidth delimiter', 'sandbox%EF%BC%84orders'],
  ['another case', 'Sandbox$orders'],
  ['a space behind', 'sandbox%20$orders'],
  ['a plus, which is no space', 'sandbox+$orders'],
  ['another normal form', 'sa%CC%81ndbox$orders'],
])('%s makes a different id, which is denied', async (_label, id) => {
  await attacked.expectRefused(
    { target: `/v1/table/${id}/describe` },
    { kind: 'PermissionDenied', says: 'you are not allowed DescribeTable on' },
  )
})

it('applies the same grammar to index names', async () => {
  for (const index of ['a%2Fb', '..', '%00', 'a%5Cb', '%252F', "'"]) {
    await attacked.expectRefused(
      { target: `/v1/table/sandbox$orders/index/${index}/stats` },
      { kind: 'InvalidInput', says: 'the index name' },
    )
  }
})
