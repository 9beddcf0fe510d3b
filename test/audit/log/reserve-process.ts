// Tries to reserve 256 KiB on a disk with space for that alone, and then on one with more. Prints the results as JSON.
import { watch } from 'node:fs'
import { rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { DiskReserve } from '../../../src/audit/log/disk-reserve.ts'

const folder = process.env['TMPDIR'] ?? ''
const kibibyte = 1024
const filling = join(folder, 'filling')
await writeFile(filling, Buffer.alloc((4096 - 400) * kibibyte))

const files = new Set<string | null>()
const watcher = watch(folder, (_event, file) => files.add(file))
const reserve = new DiskReserve(join(folder, 'reserve'), 256 * kibibyte)
const whileFull = await reserve.acquire()
await pause(20)
watcher.close()
await rm(filling)
console.log(JSON.stringify({ whileFull, files: [...files], later: await reserve.acquire() }))
