import { parseUrl } from '../../shared/parse-url.ts';
import { failure, type HttpAnswer, type HttpRequest } from './request.ts';

/**
 * Where a redirect leads. Never to another origin: the token belongs to this one, and the answer of another server says nothing about this one.
 * @throws Failure for a redirect that is not followed
 */
export function redirectTarget(request: HttpRequest, from: URL, answer: HttpAnswer): URL {
  const location = answer.header('location') ?? '';
  const target = location === '' ? undefined : parseUrl(location, from.href);
  if (target === undefined) {
    throw failure(
      request,
      'GR-HTTP-11',
      `a redirect (${answer.status}) that leads nowhere`,
      'Check the server and what stands before it',
    );
  }
  if (target.origin !== request.url.origin) {
    throw failure(
      request,
      'GR-HTTP-11',
      `a redirect (${answer.status}) to another server, which is not followed`,
      'Use the address that the server gives itself, with the right http or https',
    );
  }
  if (request.mayLeadTo?.(target) === false) {
    throw failure(
      request,
      'GR-HTTP-11',
      `a redirect (${answer.status}) to another path of this server, which is not followed`,
      'Check that the URL is the base address, with its path if it has one',
    );
  }
  return target;
}
