import { onTestFinished, vi } from 'vitest'

/** Until the test ends, the clock of this process runs ahead by what the returned function was given last; at first by nothing. */
export function clockAhead(): (milliseconds: number) => void {
  let aheadMs = 0
  vi.stubGlobal(
    'Date',
    new Proxy(Date, {
      // The library of conditions accepts instances of `Date` itself only.
      construct: (Real, parameters: [number?]) =>
        Reflect.construct(Real, parameters.length === 0 ? [Real.now() + aheadMs] : parameters) as Date,
      get: (Real, name) => (name === 'now' ? () => Real.now() + aheadMs : Reflect.get(Real, name)),
    }),
  )
  onTestFinished(() => void vi.unstubAllGlobals())
  return (milliseconds) => (aheadMs = milliseconds)
}
