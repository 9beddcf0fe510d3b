import { measureBeside } from './slow-clients.ts'

await measureBeside({
  script: '../test/attacks/resources/slow-clients-process.ts',
  count: 1_000,
  what: 'a thousand connections that send a byte a second',
})
