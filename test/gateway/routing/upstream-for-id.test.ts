import fc from 'fast-check'
import { expect, it } from 'vitest'
import { directOpener } from '../../support/direct-opener.ts'
import { upstreamSchema } from '../../../src/config/upstream/upstream-settings.ts'
import { createUpstreams } from '../../../src/gateway/upstream/upstreams.ts'
import { fixed } from '../../../src/lib/fs/follow-files.ts'

interface Lying {
  readonly name: string
  readonly namespaces: string[][] | undefined
}

/** The upstreams of the ids; the upstreams do not exist, and no request is sent. */
async function whereLie(upstreams: readonly Lying[], ids: readonly string[][]): Promise<string[]> {
  const opened = createUpstreams(
    upstreams.map((each) => ({
      ...upstreamSchema.parse({ url: 'http://127.0.0.1:9' }),
      ...each,
      opener: directOpener,
      credentials: fixed([]),
    })),
  )
  try {
    return ids.map((id) => opened.forId(id).name)
  } finally {
    opened.close()
  }
}

it('finds the longest namespace for any namespaces', async () => {
  const id = fc.array(fc.constantFrom('a', 'b', 'a$b', ''), { maxLength: 4 })
  const namespaces = fc.uniqueArray(id, { maxLength: 6, selector: (parts) => JSON.stringify(parts) })
  await fc.assert(
    fc.asyncProperty(namespaces, fc.array(id, { maxLength: 8 }), async (all, ids) => {
      const named = all
        .filter((parts) => parts.length > 0)
        .map((parts) => ({ name: JSON.stringify(parts), parts }))
      const slowly = (id: readonly string[]): string =>
        named
          .filter(({ parts }) => parts.every((part, index) => part === id[index]))
          .toSorted((one, other) => other.parts.length - one.parts.length)[0]?.name ?? 'rest'
      const upstreams = [
        { name: 'rest', namespaces: undefined },
        ...named.map(({ name, parts }) => ({ name, namespaces: [parts] })),
      ]
      expect(await whereLie(upstreams, ids)).toEqual(ids.map(slowly))
    }),
    { numRuns: 20 },
  )
})
