// Evaluated for every test file, while the modules that it imports are loaded once in each worker.
import fc from 'fast-check'
import { afterAll } from 'vitest'
import { killPrograms } from '../e2e/built-program.ts'
import { seed } from './seed.ts'

fc.configureGlobal({ seed })

afterAll(killPrograms)
