import { setTimeout } from 'node:timers/promises'
import { expect, it } from 'vitest'
import { accept, createPolicy, getNames, openReporter } from './report-results.ts'
import { eventually } from '../../../support/eventually.ts'

it('writes the last report when the Lease is taken', async () => {
  const { reporter, lease, requests } = await openReporter()
  lease.isHeld = false
  reporter.report([accept(createPolicy('deleted')), accept(createPolicy('one'))])
  reporter.report([accept(createPolicy('one')), accept(createPolicy('two'))])
  await setTimeout(150)
  expect(requests).toEqual([])
  lease.isHeld = true
  await eventually(() => expect(getNames(requests)).toEqual(['one', 'two']))
})

it('stops when the Lease is lost', async () => {
  const opened = await openReporter((_, response) => {
    opened.lease.isHeld = false
    response.writeHead(404).end('{}')
  })
  const names = Array.from({ length: 10 }, (_, index) => `policy-${index}`)
  opened.reporter.report(names.map((name) => accept(createPolicy(name))))
  await eventually(() => expect(opened.requests).toHaveLength(4))
  await setTimeout(200)
  expect(opened.requests).toHaveLength(4)
})
