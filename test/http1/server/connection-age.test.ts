import { setTimeout as pause } from 'node:timers/promises'
import { expect, it } from 'vitest'
import type { OutgoingResponse } from '../../../src/http1/server/outgoing-response.ts'
import { openRaw } from '../../gateway/raw-connection.ts'
import { eventually } from '../../gateway/waiting.ts'
import { respondText, runServer } from './running-server.ts'

const get = 'GET / HTTP/1.1\r\nhost: g\r\n\r\n'
const maxConnectionAgeMs = 400

it('the first response on a connection of its greatest age is the last', async () => {
  const { url } = await runServer((_, answer) => respondText(answer, 'good'), {
    timeouts: { maxConnectionAgeMs },
  })
  const client = openRaw(url)
  client.write(get)
  await client.until(/connection: keep-alive\r\n[^]*good$/)
  await pause(maxConnectionAgeMs)
  expect(client.isClosed()).toBe(false)
  client.write(get + get)
  expect((await client.end()).match(/good/g)).toHaveLength(2)
  expect(client.received()).toMatch(/connection: close\r\n[^]*good$/)
})

it('a response under way is the last where its head is written at that age', async () => {
  const begun: OutgoingResponse[] = []
  const { url } = await runServer((_, answer) => void begun.push(answer), {
    timeouts: { maxConnectionAgeMs },
  })
  const client = openRaw(url)
  client.write(get)
  await eventually(() => expect(begun).toHaveLength(1))
  await pause(maxConnectionAgeMs)
  for (const answer of begun) respondText(answer, 'late')
  expect(await client.end()).toMatch(/connection: close\r\n[^]*late$/)
})
