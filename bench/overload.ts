import { openLoadedGateway } from './offered-load.ts'

/*
 * Measures the goodput under overload: a catalog with four connections, whose queries take 400 ms and whose small reads
 * take 10 ms. Requests arrive at a fixed rate, nine queries to a read. Prints the successful work relative to the
 * maximum at any rate.
 */

const paces = [1, 2, 5, 10]
const loaded = await openLoadedGateway(500)
const rows = []
for (const times of paces) rows.push({ times, served: await loaded.offer(times, 4_000, 8_000) })
await loaded.close()
const peak = Math.max(...rows.map(({ served }) => served.workPerSecond))
const lines = rows.map(({ times, served: { workPerSecond, queries, reads } }) =>
  [
    `${times} x`,
    `${Math.round((100 * workPerSecond) / peak)} %`,
    `${queries.served}`,
    `${queries.refused}`,
    `${reads.served}`,
    `${reads.refused}`,
    `${Math.round(reads.p99Ms)} ms`,
  ].join(' | '),
)
const heads = ['asked for', 'work', 'queries', 'refused', 'reads', 'refused', 'p99 of reads']
process.stdout.write(
  [heads.join(' | '), heads.map(() => '---').join(' | '), ...lines].map((line) => `| ${line} |\n`).join(''),
)
