import { expect, it } from 'vitest'
import { policyOf, ruleFor } from '../../attacks/support/policy-templates.ts'
import { serveListings } from '../support/listing-upstream.ts'
import { listNames, readPages } from '../support/read-pages.ts'
import { useSharedGateway } from '../support/running-gateway.ts'

/** `ann` may see `open` and some of `closed`. */
const shared = useSharedGateway({
  users: ['ann'],
  policies: [
    policyOf(['open'], [ruleFor(['ann'], ['browse'])]),
    policyOf(['closed'], [ruleFor(['ann'], ['browse'], { tables: ['public*'] })]),
  ],
})
const views = { open: ['a', 'b', 'c'], closed: ['hidden', 'public1', 'public2', 'secret'] }

it.each(['view', 'materialized_view'])(
  'a listing of each %s shows those that may be described',
  async (kind) => {
    shared.upstream.handler = serveListings({ views })
    const read = async (namespace: string) =>
      listNames(
        await readPages(shared.gateway, `/v1/namespace/${namespace}/${kind}/list`, { as: 'ann', limit: 2 }),
      )
    expect(await read('open')).toEqual(['a', 'b', 'c'])
    expect(await read('closed')).toEqual(['public1', 'public2'])
  },
)
