import { setTimeout as pause } from 'node:timers/promises'
import { expect, it } from 'vitest'
import type { OutgoingResponse } from '../../../src/http1/server/outgoing-response.ts'
import { openRawConnection } from '../../gateway/support/raw-connection.ts'
import { respondText, runServer } from './running-server.ts'
import { eventually } from '../../support/eventually.ts'

const get = 'GET / HTTP/1.1\r\nhost: g\r\n\r\n'
const maxConnectionAgeMs = 1_500

it('the first response on a connection of the maximum age is the last', async () => {
  const { url } = await runServer((_, response) => respondText(response, 'good'), {
    timeouts: { maxConnectionAgeMs },
  })
  const client = openRawConnection(url)
  client.write(get)
  await client.waitFor(/connection: keep-alive\r\n[^]*good$/)
  await pause(maxConnectionAgeMs)
  expect(client.isClosed()).toBe(false)
  client.write(get + get)
  expect((await client.waitForEnd()).match(/good/g)).toHaveLength(2)
  expect(client.received()).toMatch(/connection: close\r\n[^]*good$/)
})

it('an active response is the last if its head is written at that age', async () => {
  const started: OutgoingResponse[] = []
  const { url } = await runServer((_, response) => void started.push(response), {
    timeouts: { maxConnectionAgeMs },
  })
  const client = openRawConnection(url)
  client.write(get)
  await eventually(() => expect(started).toHaveLength(1))
  await pause(maxConnectionAgeMs)
  for (const response of started) respondText(response, 'late')
  expect(await client.waitForEnd()).toMatch(/connection: close\r\n[^]*late$/)
})
