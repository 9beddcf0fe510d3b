import { parentPort, workerData } from 'node:worker_threads'
import { searchEntries } from './search.ts'
import type { SearchOfLog } from './search-in-thread.ts'

/* A worker thread that searches an audit log (see search-in-thread.ts), and posts the result. */

const { auditFolder, selection }: SearchOfLog = workerData
parentPort?.postMessage(await searchEntries(auditFolder, selection))
