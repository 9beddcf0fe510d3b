import { expect, it } from 'vitest'
import { LingerSlots, LingeringClose, lingerLimits } from '../../../src/http1/server/lingering-close.ts'

const { maxBytes, maxMs, maxPerAddress, maxTotal, minBytesPerSecond, rateGraceMs } = lingerLimits

it('ends after its total time, however fast the upload is', () => {
  const close = new LingeringClose(1_000)
  close.discard(maxBytes)
  expect([close.hasExpired(1_000 + maxMs), close.hasExpired(1_001 + maxMs)]).toEqual([false, true])
})

it('ends if the upload is slower than the minimum rate', () => {
  const close = new LingeringClose(1_000)
  expect([close.hasExpired(1_000 + rateGraceMs), close.hasExpired(1_001 + rateGraceMs)]).toEqual([
    false,
    true,
  ])
  close.discard(minBytesPerSecond)
  expect([close.hasExpired(2_000 + rateGraceMs), close.hasExpired(2_001 + rateGraceMs)]).toEqual([
    false,
    true,
  ])
})

it('ends after its maximum size', () => {
  const close = new LingeringClose(0)
  expect([close.discard(maxBytes), close.discard(1)]).toEqual([true, false])
})

it('limits the number by address and in total, and counts released ones no longer', () => {
  const slots = new LingerSlots()
  for (let index = 0; index < maxPerAddress; index += 1) expect(slots.acquire('a')).toBe(true)
  expect(slots.acquire('a')).toBe(false)
  for (let index = maxPerAddress; index < maxTotal; index += 1) expect(slots.acquire(`b${index}`)).toBe(true)
  expect(slots.acquire('c')).toBe(false)
  slots.release('a')
  expect([slots.acquire('a'), slots.acquire('c')]).toEqual([true, false])
})
