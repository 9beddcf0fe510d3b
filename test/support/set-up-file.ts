// Evaluated for every test file, while the modules that it imports are loaded once in each worker.
import fc from 'fast-check'
import { afterAll } from 'vitest'
import { compileCondition } from '../../src/policy/conditions/condition.ts'
import { killPrograms } from '../e2e/built-program.ts'
import { seed } from './seed.ts'

fc.configureGlobal({ seed })

// The library of conditions keeps the class of dates that there is when it is loaded: not one of a test that sets the clock.
compileCondition('true')

afterAll(killPrograms)
