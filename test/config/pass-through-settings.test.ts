import { expect, it } from 'vitest'
import { readChanged } from './read-changed-settings.ts'

const route = { prefix: '/ui', upstream: 'https://catalog.example/ui', allow: { groups: ['staff'] } }

const read = (routes: readonly object[], changes: object = {}) =>
  readChanged({ ...changes, passThrough: { port: 2335, routes } })

it('a route reads with GET and HEAD unless the settings say otherwise', async () => {
  const { passThrough } = await read([route])
  expect(passThrough?.routes).toEqual([{ ...route, methods: ['GET', 'HEAD'] }])
})

it.for(['', '/', 'ui', '/ui/', '//ui', '/ui/..', '/u%69', '/ui?x'])(
  'the prefix "%s" is refused: it is not a plain path',
  async (prefix) => {
    await expect(read([{ ...route, prefix }])).rejects.toThrow(
      'passThrough.routes.0.prefix: expected a path of',
    )
  },
)

it.for(['/ui', '/UI', '/ui/admin'])('the prefix %s is refused beside /ui', async (prefix) => {
  await expect(read([route, { ...route, prefix }])).rejects.toThrow(
    `passThrough.routes.1.prefix: ${prefix} overlaps /ui, the prefix of another route`,
  )
})

it.for([
  'ftp://catalog.example/ui',
  'https://user:secret@catalog.example/ui',
  'https://catalog.example/ui?x=1',
  'https://catalog.example/u%69',
])('the upstream %s is refused', async (upstream) => {
  await expect(read([{ ...route, upstream }])).rejects.toThrow('passThrough.routes.0.upstream: ')
})

it.for([[{}], ['everyone'], [{ groups: [] }], [undefined]])('allow: %j is refused', async ([allow]) => {
  await expect(read([{ ...route, allow }])).rejects.toThrow(/passThrough\.routes\.0\.allow/)
})

it('a route that leads to the gateway itself is refused', async () => {
  await expect(read([{ ...route, upstream: 'http://127.0.0.1:2335/ui' }])).rejects.toThrow(
    'passThrough.routes.0.upstream: is the address of this gateway (passThrough)',
  )
})
