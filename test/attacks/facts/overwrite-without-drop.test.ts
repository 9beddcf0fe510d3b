import { expect, it } from 'vitest'
import { attackedGateway } from '../support/attacked-gateway.ts'
import { arrowUpload } from '../../support/arrow-upload.ts'

// Replacing all rows drops them: permission to create or insert must not allow it as a mode.
const attacked = attackedGateway()
const arrow = { body: arrowUpload }

it.each(['overwrite', 'over_write', '%22Overwrite%22'])(
  'mode=%s in a query requires OverwriteTable',
  async (mode) => {
    for (const operation of ['create', 'insert']) {
      await attacked.expectDenied(
        { target: `/v1/table/sandbox$orders/${operation}?mode=${mode}`, ...arrow },
        /not allowed OverwriteTable \(mode=overwrite\)/,
      )
    }
  },
)

it.each(['overwrite', '"Overwrite"'])('mode %s in a body requires it, too', async (mode) => {
  const register = { as: 'clerk', target: '/v1/table/sandbox$orders/register' }
  await attacked.expectDenied(
    { ...register, body: { location: 's3://bucket/orders', mode } },
    /not allowed OverwriteTable \(mode=overwrite\) on "sandbox\$orders"/,
  )
  await attacked.expectForwarded({ ...register, body: { location: 's3://bucket/orders', mode: 'Create' } })
  await attacked.expectDenied(
    { target: '/v1/namespace/sandbox/create', body: { mode } },
    /not allowed DropTable \(mode Overwrite\)/,
  )
})

it.each([
  ['create', 'mode=replace', /"replace" is not a mode of \w+; expected one of create, existok, overwrite/],
  ['create', 'mode=%00overwrite', /NUL|mode/],
  ['insert', 'mode=create', /"create" is not a mode of \w+; expected one of append, overwrite/],
  ['insert', 'mode=append&mode=overwrite', /"mode" is repeated/],
])('%s with %s is rejected', async (operation, query, says) => {
  await attacked.expectInvalid({ target: `/v1/table/sandbox$orders/${operation}?${query}`, ...arrow }, says)
})

it('a merge that deletes unmatched rows requires DeleteFromTable', async () => {
  const merge = '/v1/table/sandbox$orders/merge_insert?on=id'
  for (const value of ['true', 'True', 'TRUE']) {
    await attacked.expectDenied(
      { target: `${merge}&when_not_matched_by_source_delete=${value}`, ...arrow },
      /not allowed DeleteFromTable \(when_not_matched_by_source_delete\)/,
    )
  }
  for (const flag of ['', '&when_not_matched_by_source_delete=false']) {
    await attacked.expectDenied(
      { target: `${merge}${flag}&when_not_matched_by_source_delete_filt=true`, ...arrow },
      /not allowed DeleteFromTable \(when_not_matched_by_source_delete_filt\)/,
    )
  }
  await attacked.expectInvalid(
    { target: `${merge}&when_not_matched_by_source_delete=1`, ...arrow },
    'expected true or false',
  )
})

it('OverwriteTable allows overwriting; appending does not require it', async () => {
  const overwrite = { target: '/v1/table/sandbox$orders/insert?mode=Overwrite', ...arrow }
  expect((await attacked.expectForwarded({ as: 'owner', ...overwrite })).target).toBe(
    '/v1/table/sandbox%24orders/insert?mode=Overwrite',
  )
  await attacked.expectForwarded({ target: '/v1/table/sandbox$orders/insert?mode=append', ...arrow })
  await attacked.expectForwarded({ target: '/v1/table/sandbox$orders/create?mode=exist_ok', ...arrow })
})
