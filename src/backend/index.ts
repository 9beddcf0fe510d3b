export { runBackend } from './run-backend.ts'
