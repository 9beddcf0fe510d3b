import { defineConfig } from 'vitest/config'

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    // Real servers, real files and a real engine: patient with a busy machine, never with a hang.
    testTimeout: 30_000,
    hookTimeout: 60_000,
  },
})
