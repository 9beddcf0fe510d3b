import { expect, it } from 'vitest'
import { createThing, inOrder, listsAndWatches, sendEvents, sendList } from './scripted-api-server.ts'
import { watchThings } from './watch-things.ts'
import { eventually } from '../../support/eventually.ts'

const large = { text: 'x'.repeat(1000) }

it('does not report a list over the limit', async () => {
  const things = ['a', 'b', 'c'].map((name) => createThing(name, '1', large))
  const lists = inOrder(sendList('9', ...things), sendList('10', ...things.slice(1)))
  const { reports, errors } = await watchThings(listsAndWatches(lists, sendEvents()), {
    maxTotalLength: 3000,
  })
  await eventually(() => expect(reports).toEqual([['b@1', 'c@1']]))
  expect(errors).toMatchObject([
    { status: 413, message: 'the resources have more than 3000 characters; delete some of them' },
  ])
})
