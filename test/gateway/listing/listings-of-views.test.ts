import { expect, it } from 'vitest'
import { serveListings } from '../support/listing-upstream.ts'
import { listNames, readPages } from '../support/read-pages.ts'
import { useSharedGateway } from '../support/running-gateway.ts'

/** `ann` may see `open` and some of `closed`. */
const shared = useSharedGateway({
  users: ['ann'],
  policies: [
    {
      name: 'open',
      namespace: ['open'],
      rules: [{ id: 'sees', effect: 'allow', subjects: { users: ['ann'] }, operations: ['browse'] }],
    },
    {
      name: 'closed',
      namespace: ['closed'],
      rules: [
        {
          id: 'sees-some',
          effect: 'allow',
          subjects: { users: ['ann'] },
          operations: ['browse'],
          tables: ['public*'],
        },
      ],
    },
  ],
})
const views = { open: ['a', 'b', 'c'], closed: ['hidden', 'public1', 'public2', 'secret'] }

it.each(['view', 'materialized_view'])(
  'a listing of each %s shows those that may be described',
  async (kind) => {
    shared.upstream.answering = serveListings({ views })
    const read = async (namespace: string) =>
      listNames(
        await readPages(shared.gateway, `/v1/namespace/${namespace}/${kind}/list`, { as: 'ann', limit: 2 }),
      )
    expect(await read('open')).toEqual(['a', 'b', 'c'])
    expect(await read('closed')).toEqual(['public1', 'public2'])
  },
)
