/** Registration tokens: one per scope is valid (models/actions/runner_token.go). */
import { hash } from 'node:crypto';
import { nextId, type RunnerScope, type State } from './model.ts';

/** The valid one; made when there is none. */
export function registrationToken(state: State, scope: RunnerScope): string {
  return state.registrationTokens.get(keyOf(scope)) ?? newRegistrationToken(state, scope);
}

/** Makes a new one, which takes the place of the old one. */
export function newRegistrationToken(state: State, scope: RunnerScope): string {
  const key = keyOf(scope);
  // 40 characters, as Gitea's.
  const token = hash('sha1', `${key} ${nextId(state, 'registration-token')}`);
  state.registrationTokens.set(key, token);
  return token;
}

/** Returns the scope of a registration token. Undefined: the token is not valid. */
export function scopeOfToken(state: State, token: string): RunnerScope | undefined {
  const [key] = [...state.registrationTokens].find(([, valid]) => valid === token) ?? [];
  return key === undefined ? undefined : (JSON.parse(key) as RunnerScope);
}

function keyOf(scope: RunnerScope): string {
  return JSON.stringify(scope);
}
