//! Advantage actor-critic, as RecBi chooses its mutation operators: what pays, now and in the steps after, is chosen
//! more often. Two networks of one hidden layer are a page of arithmetic, so no library is needed.
//!
//! From the paper: the state, the discount, the learning rate, how far it looks ahead, one hidden layer. From its
//! published code: the sizes of the hidden layers, rectifiers, the weights at the beginning, steps by Adam, the
//! critic's squared error, one update for five steps. Ours: the state is scaled, each of the five looks as far ahead as
//! formula 7 says, and one choice in ten is at random, for an operator that paid may run out of changes to make.

use fastrand::Rng;
use std::collections::VecDeque;
use std::f64::consts::TAU;

/// What a reward one step later is worth: the paper's gamma.
const DISCOUNT: f64 = 0.9;
/// The paper's beta.
const LEARNING_RATE: f64 = 0.01;
/// How many steps ahead are looked at: the paper's u.
const AHEAD: usize = 5;
/// Steps that are learned from at once.
const BATCH: usize = 5;
/// Choices that are made at random.
const EXPLORATION: f64 = 0.1;
const ACTOR_HIDDEN: usize = 20;
const CRITIC_HIDDEN: usize = 15;
/// Standard deviation of the weights at the beginning; biases are zero.
const SPREAD: f64 = 0.1;
/// No advantage counts for more, so that no reward however wrong can ruin the networks. Real rewards are below two, and
/// their advantages below this.
const LIMIT: f64 = 10.0;

/// Learns which of some actions to choose.
#[derive(Debug)]
pub struct ActorCritic {
    actor: Network,
    critic: Network,
    /// How often each action led to a passing program.
    passed: Vec<u32>,
    /// Steps that were rewarded but not yet learned from, oldest first.
    recent: VecDeque<(Step, f64)>,
}

/// An action with the state it was chosen in: several may be chosen before the first is rewarded.
#[derive(Debug, Clone, PartialEq)]
pub struct Step {
    action: usize,
    state: Vec<f64>,
}

impl Step {
    /// The action.
    #[must_use]
    pub fn action(&self) -> usize {
        self.action
    }
}

impl ActorCritic {
    /// One that knows nothing of its actions.
    #[must_use]
    pub fn new(actions: usize, random: &mut Rng) -> Self {
        let actor = Network::new(actions, ACTOR_HIDDEN, actions, random);
        let critic = Network::new(actions, CRITIC_HIDDEN, 1, random);
        Self { actor, critic, passed: vec![0; actions], recent: VecDeque::new() }
    }

    /// Chooses an action.
    #[must_use]
    pub fn choose(&self, random: &mut Rng) -> Step {
        let state = self.state();
        if random.f64() < EXPLORATION {
            return Step { action: random.usize(..self.passed.len()), state };
        }
        let probabilities = softmax(&self.actor.forward(&state).1);
        let mut left = random.f64();
        let chosen = probabilities.iter().position(|probability| {
            left -= probability;
            left < 0.0
        });
        // Rounding may leave a little.
        Step { action: chosen.unwrap_or(probabilities.len() - 1), state }
    }

    /// Learns what a step brought, and whether it made a passing program. Steps are given in the order they were
    /// chosen in.
    pub fn learn(&mut self, step: Step, reward: f64, passed: bool) {
        self.passed[step.action] += u32::from(passed);
        self.recent.push_back((step, if reward.is_finite() { reward } else { 0.0 }));
        if self.recent.len() > AHEAD + BATCH {
            self.update();
        }
    }

    /// How often each action led to a passing program, all alike being one. It is scaled to keep this sum, as the
    /// counts themselves would grow until the actor is sure of everything.
    fn state(&self) -> Vec<f64> {
        let counts = self.passed.iter().map(|&count| f64::from(count) + 1.0);
        let sum: f64 = counts.clone().sum();
        counts.map(|count| count * self.passed.len() as f64 / sum).collect()
    }

    /// The advantage of one of the recent steps: what was won in it and the steps after it, with what is expected after
    /// them, over what was expected.
    fn advantage(&self, at: usize) -> f64 {
        let value =
            |at: usize| self.recent.get(at).map_or(0.0, |(step, _)| self.critic.forward(&step.state).1[0]);
        let rewards = self.recent.iter().skip(at).take(AHEAD + 1).map(|(_, reward)| reward);
        let won = rewards.rev().fold(0.0, |later, reward| reward + DISCOUNT * later);
        let expected = DISCOUNT.powi(AHEAD as i32 + 1) * value(at + AHEAD + 1);
        (won + expected - value(at)).clamp(-LIMIT, LIMIT)
    }

    /// Makes the actions of the oldest steps likelier by their advantages, and the critic expect these.
    fn update(&mut self) {
        let advantages: Vec<f64> = (0..BATCH).map(|at| self.advantage(at)).collect();
        let mut actor = vec![0.0; self.actor.weights.len()];
        let mut critic = vec![0.0; self.critic.weights.len()];
        for ((step, _), advantage) in self.recent.drain(..BATCH).zip(advantages) {
            let mut slopes =
                log_probability_slopes(&softmax(&self.actor.forward(&step.state).1), step.action);
            slopes.iter_mut().for_each(|slope| *slope *= advantage / BATCH as f64);
            add(&mut actor, &self.actor.gradient(&step.state, &slopes));
            add(&mut critic, &self.critic.gradient(&step.state, &[2.0 * advantage / BATCH as f64]));
        }
        self.actor.climb(&actor);
        self.critic.climb(&critic);
    }
}

fn add(sum: &mut [f64], other: &[f64]) {
    sum.iter_mut().zip(other).for_each(|(sum, other)| *sum += other);
}

/// The slopes of the logarithm of an action's probability, by what the actor says of each action.
fn log_probability_slopes(probabilities: &[f64], action: usize) -> Vec<f64> {
    let one = |index: usize| f64::from(u8::from(index == action));
    probabilities.iter().enumerate().map(|(index, probability)| one(index) - probability).collect()
}

fn softmax(values: &[f64]) -> Vec<f64> {
    let largest = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let powers = values.iter().map(|value| (value - largest).exp());
    let sum: f64 = powers.clone().sum();
    powers.map(|power| power / sum).collect()
}

/// A network of one hidden layer of rectifiers.
#[derive(Debug)]
struct Network {
    inputs: usize,
    hidden: usize,
    /// Of each hidden unit the weights of its inputs and its bias, then the same of each output.
    weights: Vec<f64>,
    adam: Adam,
}

impl Network {
    fn new(inputs: usize, hidden: usize, outputs: usize, random: &mut Rng) -> Self {
        let mut weights = Vec::new();
        for (units, inputs) in [(hidden, inputs), (outputs, hidden)] {
            for _ in 0..units {
                weights.extend((0..inputs).map(|_| SPREAD * normal(random)));
                weights.push(0.0);
            }
        }
        let adam = Adam::new(weights.len());
        Self { inputs, hidden, weights, adam }
    }

    /// Where the outputs' weights begin.
    fn split(&self) -> usize {
        self.hidden * (self.inputs + 1)
    }

    /// What the hidden units and the outputs say.
    fn forward(&self, state: &[f64]) -> (Vec<f64>, Vec<f64>) {
        let (lower, upper) = self.weights.split_at(self.split());
        let sum = |unit: &[f64], inputs: &[f64]| {
            let (bias, weights) = unit.split_last().unwrap_or((&0.0, &[]));
            bias + weights.iter().zip(inputs).map(|(weight, input)| weight * input).sum::<f64>()
        };
        let hidden: Vec<f64> = lower.chunks(self.inputs + 1).map(|unit| sum(unit, state).max(0.0)).collect();
        let outputs = upper.chunks(self.hidden + 1).map(|unit| sum(unit, &hidden)).collect();
        (hidden, outputs)
    }

    /// The slope of each weight, given those of the outputs.
    fn gradient(&self, state: &[f64], outputs: &[f64]) -> Vec<f64> {
        let (hidden, _) = self.forward(state);
        let upper = &self.weights[self.split()..];
        let mut gradient = Vec::with_capacity(self.weights.len());
        for (index, &value) in hidden.iter().enumerate() {
            let units = upper.chunks(self.hidden + 1).zip(outputs);
            let slope: f64 = units.map(|(unit, slope)| unit[index] * slope).sum();
            let slope = if value > 0.0 { slope } else { 0.0 };
            gradient.extend(state.iter().map(|input| input * slope));
            gradient.push(slope);
        }
        for slope in outputs {
            gradient.extend(hidden.iter().map(|value| value * slope));
            gradient.push(*slope);
        }
        gradient
    }

    /// A step upward.
    fn climb(&mut self, gradient: &[f64]) {
        self.adam.climb(&mut self.weights, gradient);
    }
}

/// Steps whose size does not depend on that of the rewards (Kingma and Ba), with the usual constants. Rewards are
/// small, and by plain steps a search would be over before anything was learned.
#[derive(Debug)]
struct Adam {
    /// Of each weight a mean of its slopes and of their squares, of late.
    means: Vec<(f64, f64)>,
    /// What is left of the beginning, when both means were zero.
    left: (f64, f64),
}

impl Adam {
    const DECAY: (f64, f64) = (0.9, 0.999);

    fn new(weights: usize) -> Self {
        Self { means: vec![(0.0, 0.0); weights], left: (1.0, 1.0) }
    }

    fn climb(&mut self, weights: &mut [f64], gradient: &[f64]) {
        let (first, second) = Self::DECAY;
        self.left = (self.left.0 * first, self.left.1 * second);
        for ((weight, (mean, square)), slope) in weights.iter_mut().zip(&mut self.means).zip(gradient) {
            *mean = first * *mean + (1.0 - first) * slope;
            *square = second * *square + (1.0 - second) * slope * slope;
            let deviation = (*square / (1.0 - self.left.1)).sqrt();
            *weight += LEARNING_RATE * *mean / (1.0 - self.left.0) / (deviation + 1e-8);
        }
    }
}

/// A number of the standard normal distribution.
fn normal(random: &mut Rng) -> f64 {
    (-2.0 * (1.0 - random.f64()).ln()).sqrt() * (TAU * random.f64()).cos()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The share of each action in the last quarter of so many steps, if they pay so much and a fifth passes.
    fn shares(seed: u64, pays: &[f64], batch: usize, steps: usize) -> Vec<f64> {
        let mut random = Rng::with_seed(seed);
        let mut learner = ActorCritic::new(pays.len(), &mut random);
        let mut chosen = vec![0.0; pays.len()];
        for index in 0..steps / batch {
            let batch: Vec<Step> = (0..batch).map(|_| learner.choose(&mut random)).collect();
            let counts = index * batch.len() >= steps * 3 / 4;
            for step in batch {
                let action = step.action();
                chosen[action] += if counts { 4.0 / steps as f64 } else { 0.0 };
                learner.learn(step, pays[action], random.f64() < 0.2);
            }
        }
        chosen
    }

    #[test]
    fn what_pays_is_chosen_most() {
        for (seed, batch) in [(1, 1), (2, 5), (3, 16), (4, 16)] {
            let mut pays = [0.0; 10];
            pays[3] = 0.2;
            let shares = shares(seed, &pays, batch, 1600);
            assert!(shares[3] > 0.7, "{shares:?}");
            assert!(shares[3] < 0.99, "others are still tried: {shares:?}");
            assert_eq!(shares, self::shares(seed, &pays, batch, 1600), "equal seeds choose the same");
        }
    }

    #[test]
    fn slopes_are_those_of_small_differences() {
        const SMALL: f64 = 1e-6;
        let mut random = Rng::with_seed(11);
        let mut network = Network::new(3, 6, 4, &mut random);
        network.weights.iter_mut().for_each(|weight| *weight = normal(&mut random));
        let state = [0.4, 1.7, 0.9];
        let probability = |network: &Network| softmax(&network.forward(&state).1)[2].ln();
        let slopes = log_probability_slopes(&softmax(&network.forward(&state).1), 2);
        let gradient = network.gradient(&state, &slopes);
        assert_eq!(gradient.len(), network.weights.len());
        for (index, slope) in gradient.into_iter().enumerate() {
            let weight = network.weights[index];
            network.weights[index] = weight + SMALL;
            let above = probability(&network);
            network.weights[index] = weight - SMALL;
            let below = probability(&network);
            network.weights[index] = weight;
            let difference = (above - below) / (2.0 * SMALL);
            assert!((slope - difference).abs() < 1e-7, "weight {index}: {slope}, not {difference}");
        }
    }

    #[test]
    fn the_advantage_is_that_of_the_formula() {
        let mut random = Rng::with_seed(2);
        let mut learner = ActorCritic::new(4, &mut random);
        let rewards = [0.5, -0.1, 0.3, 0.0, 0.2, 0.7, 0.4, 0.6];
        for (index, reward) in rewards.into_iter().enumerate() {
            let step = learner.choose(&mut random);
            learner.learn(step, reward, index % 2 == 0);
        }
        let value = |at: usize| learner.critic.forward(&learner.recent[at].0.state).1[0];
        for at in 0..2 {
            let won: f64 = (at..=at + 5).map(|i| 0.9f64.powi((i - at) as i32) * rewards[i]).sum();
            let advantage = won + 0.9f64.powi(6) * value(at + 6) - value(at);
            assert!((learner.advantage(at) - advantage).abs() < 1e-12);
        }
    }

    #[test]
    fn steps_remember_their_state() {
        let mut random = Rng::with_seed(3);
        let mut learner = ActorCritic::new(4, &mut random);
        let [first, second] = [learner.choose(&mut random), learner.choose(&mut random)];
        assert_eq!(first.state, [1.0; 4]);
        let action = first.action();
        learner.learn(first, 1.0, true);
        let third = learner.choose(&mut random);
        // Counts 2, 1, 1, 1, scaled to a sum of four.
        assert_eq!(third.state[action], 1.6);
        assert_eq!(third.state.iter().filter(|&&share| share == 0.8).count(), 3);
        learner.learn(second.clone(), 0.0, false);
        assert_eq!(learner.recent[1].0, second);
        assert_eq!(learner.choose(&mut random).state, third.state, "it did not pass");
    }

    #[test]
    fn no_reward_ruins_the_networks() {
        let mut random = Rng::with_seed(4);
        let mut learner = ActorCritic::new(3, &mut random);
        let rewards = [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, f64::MAX, f64::MIN, 1e200, 0.0];
        for index in 0..2000 {
            let step = learner.choose(&mut random);
            learner.learn(step, rewards[index % rewards.len()], true);
        }
        let weights = learner.actor.weights.iter().chain(&learner.critic.weights);
        assert!(weights.into_iter().all(|weight| weight.is_finite() && weight.abs() < 100.0));
    }
}
