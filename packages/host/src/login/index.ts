export type { Login } from './login.ts'
export { LoginRoom } from './room.ts'
export { SignInNeeded } from './sign-in-needed.ts'
